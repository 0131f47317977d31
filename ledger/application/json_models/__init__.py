"""The public JSON: one model for each thing that `--json` prints and the native HTTP API answers.

A field is named as in the library's results and in stored events; each model is read from the library object with
the same fields. Only the working-memory API has other names.
"""
