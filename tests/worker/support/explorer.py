"""Every interleaving of two workers, statement by statement, on two real connections.

    def script(...) -> Script:                     # one worker: protocols one after another
        claim = Stepper(connection, queue, lambda bound: lease.claim(bound, ONLY, 2))
        yield claim
        ...                                        # claim.value, or claim.error, is there now

    for run in explore(database, start):           # `start` sets the table and returns the scripts
        check(run)

A run is repeated with each choice of who goes next, where more than one can, until there is none left
that was not tried. A BEGIN goes with what comes before it. A worker that waits for a lock goes on as soon as
it is free.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.steps import Begin
from tests.conformance.stepping import Stepper
from tests.servers import Database
from tests.worker.support.injecting import name_of

Script = Generator[Stepper, None, None]


@dataclass
class Actor:
    """One worker of a run."""

    script: Script
    pool: ThreadPoolExecutor
    stepper: Stepper | None = None
    running: Future[Any] | None = None
    errors: list[BaseException] = field(default_factory=list)

    def advance(self) -> None:
        """On to the next protocol when the last one is over."""
        while self.stepper is None or self.stepper.done:
            try:
                self.stepper = next(self.script)
            except StopIteration:
                self.stepper = None
                return

    def collect(self) -> None:
        """Take note of a step that has ended. The protocol's error belongs to the script."""
        running, self.running = self.running, None
        assert running is not None and self.stepper is not None
        error = running.exception()
        if error is not None:
            self.stepper.error = error  # type: ignore[attr-defined]
            self.errors.append(error)
        self.advance()

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        return self.stepper is None


@dataclass
class Run:
    """One order of the steps."""

    order: list[str] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)


def explore(
    database: Database,
    start: Callable[[], Sequence[Script]],
    *,
    most: int | None = None,
    seed: int = 1,
) -> Iterator[Run]:
    """Every order, or `most` of them chosen by chance. `start` is called before each."""
    pools = [ThreadPoolExecutor(1), ThreadPoolExecutor(1)]
    chance = random.Random(seed)
    try:
        prefix: list[int] | None = []
        done = 0
        while prefix is not None and (most is None or done < most):
            run = _run(database, start(), pools, prefix, chance if most is not None else None)
            done += 1
            yield run
            prefix = [] if most is not None else _next(run)
    finally:
        for pool in pools:
            pool.shutdown(wait=False)


def _next(run: Run) -> list[int] | None:
    """The choices of the next order: the last one that had an alternative, changed."""
    choices = list(run.choices)
    while choices:
        if choices[-1] + 1 < run.widths[len(choices) - 1]:
            choices[-1] += 1
            return choices
        choices.pop()
    return None


def _run(
    database: Database,
    scripts: Sequence[Script],
    pools: Sequence[ThreadPoolExecutor],
    prefix: Sequence[int],
    chance: random.Random | None,
) -> Run:
    run = Run()
    actors = [Actor(script, pool) for script, pool in zip(scripts, pools, strict=True)]
    for actor in actors:
        actor.advance()
    while not all(actor.over for actor in actors):
        for actor in actors:
            if actor.running is not None and actor.running.done():
                actor.collect()
            _begin(database, actor)
        ready = [actor for actor in actors if _ready(database, actor, actors)]
        if not ready:
            waiting = [actor.running for actor in actors if actor.running is not None]
            assert waiting, f"nobody can go on: {run.order}"
            assert wait(waiting, 30, FIRST_COMPLETED).done, f"both wait: {run.order}"
            continue
        choice = 0
        if len(ready) > 1:
            number = len(run.choices)
            if number < len(prefix):
                choice = prefix[number]
            elif chance is not None:
                choice = chance.randrange(len(ready))
            run.choices.append(choice)
            run.widths.append(len(ready))
        actor = ready[choice]
        assert actor.stepper is not None and actor.stepper.next is not None
        run.order.append(f"{actors.index(actor)}:{name_of(actor.stepper.next)}")
        actor.running = actor.pool.submit(actor.stepper.step)
        _settle(database, actor)
    return run


def _begin(database: Database, actor: Actor) -> None:
    """At READ COMMITTED a BEGIN alone means nothing to anybody else: no order is another one by it."""
    if actor.over or actor.running is not None or database.dialect == "sqlite":
        return
    assert actor.stepper is not None
    if isinstance(actor.stepper.next, Begin) and actor.stepper.next.isolation is None:
        actor.running = actor.pool.submit(actor.stepper.step)
        _settle(database, actor)


def _ready(database: Database, actor: Actor, actors: Sequence[Actor]) -> bool:
    if actor.over or actor.running is not None:
        return False
    assert actor.stepper is not None
    if database.dialect == "sqlite" and isinstance(actor.stepper.next, Begin):
        # the one writer's lock: a second BEGIN would sleep inside this process
        others = [other for other in actors if other is not actor and other.stepper is not None]
        return not any(o.stepper is not None and o.stepper.session.in_transaction for o in others)
    return True


def _settle(database: Database, actor: Actor) -> None:
    """Until the step is done, or waits for a lock."""
    running = actor.running
    assert running is not None and actor.stepper is not None
    session = database.session_id(actor.stepper.connection)
    while True:
        wait([running], 0.02)
        if running.done():
            actor.collect()
            return
        if database.dialect != "sqlite" and database.is_blocked(session):
            return
