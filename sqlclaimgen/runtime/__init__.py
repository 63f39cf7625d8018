"""What generated modules and workers stand on. Standard library only, and one driver when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlclaimgen.runtime.backoff import RetryPolicy as RetryPolicy
    from sqlclaimgen.runtime.by_hand import claim as claim
    from sqlclaimgen.runtime.by_hand import enqueue as enqueue
    from sqlclaimgen.runtime.by_hand import enqueue_many as enqueue_many
    from sqlclaimgen.runtime.by_hand import extend as extend
    from sqlclaimgen.runtime.by_hand import release as release
    from sqlclaimgen.runtime.by_hand import settle as settle
    from sqlclaimgen.runtime.by_hand_async import claim_async as claim_async
    from sqlclaimgen.runtime.by_hand_async import enqueue_async as enqueue_async
    from sqlclaimgen.runtime.by_hand_async import enqueue_many_async as enqueue_many_async
    from sqlclaimgen.runtime.by_hand_async import extend_async as extend_async
    from sqlclaimgen.runtime.by_hand_async import purge_async as purge_async
    from sqlclaimgen.runtime.by_hand_async import redrive_async as redrive_async
    from sqlclaimgen.runtime.by_hand_async import release_async as release_async
    from sqlclaimgen.runtime.by_hand_async import settle_async as settle_async
    from sqlclaimgen.runtime.by_hand_async import stats_async as stats_async
    from sqlclaimgen.runtime.care import Count as Count
    from sqlclaimgen.runtime.care import Kept as Kept
    from sqlclaimgen.runtime.care import Purged as Purged
    from sqlclaimgen.runtime.care import Redriven as Redriven
    from sqlclaimgen.runtime.care import Stats as Stats
    from sqlclaimgen.runtime.care import StatsWithDead as StatsWithDead
    from sqlclaimgen.runtime.care import purge as purge
    from sqlclaimgen.runtime.care import redrive as redrive
    from sqlclaimgen.runtime.care import stats as stats
    from sqlclaimgen.runtime.claims import Claim as Claim
    from sqlclaimgen.runtime.claims_async import AsyncClaim as AsyncClaim
    from sqlclaimgen.runtime.clock import utcnow as utcnow
    from sqlclaimgen.runtime.connections import AsyncPostgresConnection as AsyncPostgresConnection
    from sqlclaimgen.runtime.connections import Connection as Connection
    from sqlclaimgen.runtime.connections import MySQLConnection as MySQLConnection
    from sqlclaimgen.runtime.connections import PostgresConnection as PostgresConnection
    from sqlclaimgen.runtime.connections import SQLiteConnection as SQLiteConnection
    from sqlclaimgen.runtime.deliveries import AdvisoryDelivery as AdvisoryDelivery
    from sqlclaimgen.runtime.deliveries import LeaseDelivery as LeaseDelivery
    from sqlclaimgen.runtime.deliveries import RowLockDelivery as RowLockDelivery
    from sqlclaimgen.runtime.errors import AlreadyQueued as AlreadyQueued
    from sqlclaimgen.runtime.errors import AlreadySettled as AlreadySettled
    from sqlclaimgen.runtime.errors import BatchRolledBack as BatchRolledBack
    from sqlclaimgen.runtime.errors import ClaimError as ClaimError
    from sqlclaimgen.runtime.errors import ClaimLost as ClaimLost
    from sqlclaimgen.runtime.errors import ClocksApart as ClocksApart
    from sqlclaimgen.runtime.errors import Closed as Closed
    from sqlclaimgen.runtime.errors import CommitRefused as CommitRefused
    from sqlclaimgen.runtime.errors import ConnectionBusy as ConnectionBusy
    from sqlclaimgen.runtime.errors import FaultKind as FaultKind
    from sqlclaimgen.runtime.errors import FormatUnknown as FormatUnknown
    from sqlclaimgen.runtime.errors import IdNotUnique as IdNotUnique
    from sqlclaimgen.runtime.errors import LeaseLost as LeaseLost
    from sqlclaimgen.runtime.errors import RowInvalid as RowInvalid
    from sqlclaimgen.runtime.errors import SchemaMismatch as SchemaMismatch
    from sqlclaimgen.runtime.errors import ServerTooOld as ServerTooOld
    from sqlclaimgen.runtime.errors import ServerUnfit as ServerUnfit
    from sqlclaimgen.runtime.errors import SettlementUnknown as SettlementUnknown
    from sqlclaimgen.runtime.errors import StatementFailed as StatementFailed
    from sqlclaimgen.runtime.errors import TransactionOpen as TransactionOpen
    from sqlclaimgen.runtime.errors import UnsupportedServer as UnsupportedServer
    from sqlclaimgen.runtime.errors import ValueRefused as ValueRefused
    from sqlclaimgen.runtime.errors import WriteIgnored as WriteIgnored
    from sqlclaimgen.runtime.errors import WrongConnection as WrongConnection
    from sqlclaimgen.runtime.inserting import NAMED as NAMED
    from sqlclaimgen.runtime.inserting import NUMERIC as NUMERIC
    from sqlclaimgen.runtime.inserting import PYFORMAT as PYFORMAT
    from sqlclaimgen.runtime.inserting import SQLALCHEMY as SQLALCHEMY
    from sqlclaimgen.runtime.inserting import Parameters as Parameters
    from sqlclaimgen.runtime.inserting import Style as Style
    from sqlclaimgen.runtime.inserting import insert as insert
    from sqlclaimgen.runtime.outcomes import Ack as Ack
    from sqlclaimgen.runtime.outcomes import DeadLetter as DeadLetter
    from sqlclaimgen.runtime.outcomes import Discard as Discard
    from sqlclaimgen.runtime.outcomes import Retry as Retry
    from sqlclaimgen.runtime.outcomes import RetryAfter as RetryAfter
    from sqlclaimgen.runtime.protocols.fifo import Turn as Turn
    from sqlclaimgen.runtime.protocols.scope import ONLY as ONLY
    from sqlclaimgen.runtime.protocols.scope import TABLE as TABLE
    from sqlclaimgen.runtime.protocols.scope import UNGROUPED as UNGROUPED
    from sqlclaimgen.runtime.protocols.scope import group as group
    from sqlclaimgen.runtime.queue import Column as Column
    from sqlclaimgen.runtime.queue import Queue as Queue
    from sqlclaimgen.runtime.queue import Relation as Relation
    from sqlclaimgen.runtime.transactions import transaction as transaction
    from sqlclaimgen.runtime.transactions_async import transaction_async as transaction_async
    from sqlclaimgen.runtime.worker.core import Unfinished as Unfinished
    from sqlclaimgen.runtime.worker.events import Event as Event
    from sqlclaimgen.runtime.worker.events import EventKind as EventKind
    from sqlclaimgen.runtime.worker.faces import AsyncWorker as AsyncWorker
    from sqlclaimgen.runtime.worker.faces import Worker as Worker
    from sqlclaimgen.runtime.worker.waking import wake as wake
else:
    # Each name is imported when it is first used: a producer needs no worker, the generator neither.
    _NAMES = {
        "backoff": "RetryPolicy",
        "by_hand": "claim enqueue enqueue_many extend release settle",
        "by_hand_async": (
            "claim_async enqueue_async enqueue_many_async extend_async purge_async redrive_async "
            "release_async settle_async stats_async"
        ),
        "care": "Count Kept Purged Redriven Stats StatsWithDead purge redrive stats",
        "claims": "Claim",
        "claims_async": "AsyncClaim",
        "clock": "utcnow",
        "connections": (
            "AsyncPostgresConnection Connection MySQLConnection PostgresConnection SQLiteConnection"
        ),
        "deliveries": "AdvisoryDelivery LeaseDelivery RowLockDelivery",
        "errors": (
            "AlreadyQueued AlreadySettled BatchRolledBack ClaimError ClaimLost ClocksApart CommitRefused "
            "Closed ConnectionBusy FaultKind FormatUnknown IdNotUnique LeaseLost RowInvalid "
            "SchemaMismatch ServerTooOld ServerUnfit SettlementUnknown StatementFailed "
            "TransactionOpen UnsupportedServer ValueRefused WriteIgnored WrongConnection"
        ),
        "inserting": "NAMED NUMERIC PYFORMAT SQLALCHEMY Parameters Style insert",
        "outcomes": "Ack DeadLetter Discard Retry RetryAfter",
        "protocols.fifo": "Turn",
        "protocols.scope": "ONLY TABLE UNGROUPED group",
        "queue": "Column Queue Relation",
        "transactions": "transaction",
        "transactions_async": "transaction_async",
        "worker.core": "Unfinished",
        "worker.events": "Event EventKind",
        "worker.faces": "AsyncWorker Worker",
        "worker.waking": "wake",
    }
    _MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted([*globals(), *_MODULES])
