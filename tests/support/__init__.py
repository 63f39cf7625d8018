"""What tests of several folders need: descriptions to modules and tables in one call."""
