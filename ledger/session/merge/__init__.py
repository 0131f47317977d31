r"""A PUT of working memory as a three-way merge: the events that turn a session into what a client sent.

    base     what the writer had seen            (the state that its stamp names, if it sent one)
    theirs   what is stored now                  (other writers and compactions may have changed it)
    ours     the body that was sent              (`Body`)

           base ----------> theirs               An item that base has and ours lacks was removed by the writer;
             \                 \                 one that only theirs has is from another writer and stays.
              ours ---------> merged -> events   A value of ours that equals base is old and changes nothing.

What is known about base (`Evidence`) decides how much ours may change: with ``If-Match``, base is theirs and ours
replaces it (`IfMatch`); a stamp gives a base (`ThreeWay`); without either, only what the body itself proves is applied
(`Blind`). All of it is pure. `matching` pairs the items of ours with stored ones, `lists` merges one list, `fields`
merges the rest, `events` returns the difference. Source: http W-51 … W-61.
"""
