"""Static mode's first stage: user source in, traceable source out."""
