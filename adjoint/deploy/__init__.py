"""Functions and derivatives as files that other programs run: `ad.export`.

exporting           `export`: which kind of file
traced_program      a function as a graph whose inputs and results have names
file_names          names for C
c_files             an object file or shared library, and its header (c_header)
onnx_files          an ONNX model: onnx_graph goes through the graph, onnx_table says what each card becomes
"""
