"""Graphs as pictures: SVG without any other program, and one page of HTML that opens anywhere."""

from adjoint.pictures.picture import Picture as Picture
from adjoint.pictures.picture import draw as draw
