"""Graph -> machine code for the CPU, through LLVM: `compiler.compile(graph)` is a callable on arrays.

A graph goes through five rooms, in this order. Each room's own page says what comes in and what goes out.

    rewrite/    graph -> graph, in the forms for which there is code
                canonical           all rewrites, in order
                computing_dtypes    half precision in float32, factors of mixed dtypes in one
                einsum_to_matmul    Einstein sums as matrix products, elementwise products and sums
                merge_matmuls       products of stacks, and products with a common factor, as one larger product
                insert_slice        the op InsertSlice; to_insert_slice makes it of slices that are set, padding and joining
                complex_pairs       complex numbers as pairs of real ones: complex_rules for each op, complex_functions in
                                    real_numbers
                fourier_steps       Fourier transforms as steps along one axis
                indexed             few elements of a formula, and sums of scattered values
    plan/       graph -> units of work (scalar registers, loop nests, kernels) and what is stored in memory
                units               which nodes are stored, and the units in order
                node_order          passes over the rows of large arrays together: what is small before or after them
                loop_expressions    what a nest computes at one point of its iteration space
                coalesce_axes       neighbouring axes of a nest as one
                row_fusion          nests that follow one another row by row, in one loop over rows
                epilogue_fusion     nests that become the epilogue of a matrix product; matmul_operands says what a product reads
                linear_steps        loops whose state is linear in the state before
                unit_order          units in an order that needs less memory
                computed_again      what is cheap is computed again after the peak, not kept over it
                independent_branches  branches too serial for all threads, to run side by side
                stages              compiled parts of a graph, and what the interpreter does between them
                arena               memory for what is not a result; arena_places are its parts, result_rooms puts some into results, and
                                    given_back says what goes back to the system while results are written
                work_estimate       how much a step or a graph does
                left_out            what has no machine code, at which lines, and what that costs
    emit/       units -> text of LLVM IR
                graph_emitter       a planned graph as straight code
                planned_graph       the emitter of the graph, or of one that computes some things again
                over_inputs         results of units written over inputs that die there
                function_state      what the graphs of one function share: code, arena, stack_slots, polling
                loop_nest           the loops of a nest: vectors, threads, partial sums
                expression_code     the value of an expression in a register; vector_access reads and writes memory
                lanes               elementwise ops on vector lanes; floor_division among them, and rounded_lanes
                control_flow        branches and loops, with an iteration_stack for what iterations leave behind
                linear_recurrence   iterations with linear steps, many at once
                branch_functions    branches that run side by side, a function for each
                llvm_ir             writing IR: modules, blocks, loops
                vecmath/            elementary functions as polynomials
                scipy_calls         functions that SciPy computes, found by runtime's scipy_functions
    kernels/    what needs a page of its own
                table               the kernels, by card
                gather_scatter      indexing with indices known at run time; index_walk says how it goes through memory
                slice_update        slices that are set, concatenation, stacking; in_place says whose memory the result has
                argmax_cumsum       ops that run along one axis
                sorting             sorting, top-k, partitions; radix_sort has one line of keys
                matmul              matrix products of a graph; matmul_epilogue writes what follows on their tiles
                gemm                one product of known size: gemm_blocking, gemm_tiles, gemm_packing, gemm_panels
                direct_convolution  convolution and its gradients; convolution_lanes says how it lies in vectors
                window_pooling      pooling and its gradients; pooling_geometry has the windows
                fourier_transform   Fourier transforms along an axis, of fourier_butterflies
                window_loops        what convolution, pooling and sorting share
                square_matrices     Cholesky factors, systems of equations, inverses, determinants: matrix_factors for small ones,
                                    lapack_systems for large ones
                orthogonal_factors  QR, eigenvalues and singular values by LAPACK; lapack_calls writes its calls
                matrix_batches      a kernel for each matrix of a batch; matrix_code writes on their elements
    runtime/    text of IR -> machine code in memory, and the call from Python and back
                llvm_compile        LLVM, in parts at the same time (module_split), through the object_cache
                thread_pool         the parallel loop of compiled code
                lapack              where SciPy's LAPACK is
                interrupt           Ctrl-C in compiled code
                available_memory    how much memory can still be had; pages, in what pieces it goes back; result_memory, what large results
                                    lie in from one call to the next
                checked_build       builds whose loads and stores are compared with bounds (bounds_checks)
                kernel_call         from arrays into a kernel: array_entry is the compiled way
                container_call      from containers of Tensors into a kernel: container_unpack, container_build, call_guards
                object_layout       what compiled code knows of CPython's and NumPy's objects

`compiler` leads a graph through the rooms, and leaves to the interpreter what has no code; `memory_plan` says beforehand what memory
the code will take; `unit_names` says what its units are; `standalone` makes an object file of it for C programs, `unit_times` a build that times its units. All rooms ask `node_facts` what a
node is, `dtypes` what compiled code can hold, and `kernel_registry` which ops have a kernel. Imports go one way: `kernels` write
with what `emit` has, `emit` reads what `plan` made, `plan` knows the ops that `rewrite` adds, and `runtime` knows none of them.
A test holds this.
"""
