"""A PUT of working memory as a diff: which events bring a session to what a client sent. Source: http W-51 … W-61.

    body + state + what the writer saw + what the session once knew  ->  events

All of it is pure. `body` is what was sent, `seen` the proof of what its writer knew; `recognition`, `omissions` and
`items` judge a list, `messages` and `memories` make events of what they found, `fields` judges the rest.
"""

from ledger.session.put.body import Body, BodyMemory, BodyMessage
from ledger.session.put.changes import PutSession, changes, ids_in_doubt
from ledger.session.put.messages import Counted
from ledger.session.put.past import PastItem, Remembered
from ledger.session.put.seen import Marked, Seen, ServedView, Strict, Unmarked

__all__ = [
    "Body",
    "BodyMemory",
    "BodyMessage",
    "Counted",
    "Marked",
    "PastItem",
    "PutSession",
    "Remembered",
    "Seen",
    "ServedView",
    "Strict",
    "Unmarked",
    "changes",
    "ids_in_doubt",
]
