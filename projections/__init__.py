"""Pure folds of events, and the strategies that choose what a model is shown."""
