"""Functions and derivatives as files that other programs run: `ad.export`.

exporting           `export`: which kind of file
traced_program      a function as a graph whose inputs and results have names
file_names          names for C and ONNX
c_files             an object file or shared library, and its header (c_header)
    onnx_files          an ONNX model: onnx_writer makes its nodes, onnx_batch lets the size of a batch vary
    onnx_table          what each card becomes there: onnx_elementwise, onnx_arrays, onnx_windows, onnx_control
onnx_files          an ONNX model: onnx_graph goes through the graph, onnx_table says what each card becomes
"""
