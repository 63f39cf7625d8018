"""The rules, a noun each: a rule reports what is wrong and returns what it resolved."""
