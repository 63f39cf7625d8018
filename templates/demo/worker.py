"""A worker of the table `jobs`: it claims one row at a time until every row is finished."""

import sqlite3
import sys
import time

from queues import jobs

connection = sqlite3.connect("jobs.db", isolation_level=None, timeout=10)
stuck = "stuck" in sys.argv


def unfinished() -> int:
    query = "SELECT COUNT(*) FROM jobs WHERE processed_at IS NULL"
    return int(connection.execute(query).fetchone()[0])


while unfinished():
    with jobs.claim(connection, limit=1) as deliveries:
        for delivery in deliveries:
            print(f"job {delivery.id}, attempt {delivery.attempt}: begun", flush=True)
            if stuck:
                sys.stdin.read()  # a handler that takes long: it ends when this process does
            delivery.ack(connection)
            print(f"job {delivery.id}, attempt {delivery.attempt}: acknowledged", flush=True)
    if not len(deliveries):
        time.sleep(0.05)  # nothing is due: others hold what is left
