"""Moving the work on ids out of the training step into the input pipeline, one step a file:

requests (which tensors somebody wants moved) -> survey (which operations can move) -> cut (those of
one iterator, as a function of its batch) -> iterators (a dataset and iterator that call it) ->
stand_in (the old iterator, for whoever still reads it) -> modify (all of it, for one graph).
"""
