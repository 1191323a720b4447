"""Programs one can see into: tables of what a derivative does (`ad.explain`), and derivatives as Python source (`ad.source`)."""
