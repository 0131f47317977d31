"""What is made of the events: pure folds, and the strategies that choose what a model is shown."""
