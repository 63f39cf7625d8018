"""Workers: claim, run handlers, settle, extend, drain. One core, a blocking and an asyncio face."""
