"""What was wrong once, found by kernels from elsewhere, and the test that holds each since: a wrong result (W), a false
alarm (F), a bug that was missed (M), a program that the simulator could not run at all (G)."""

KERNELS = "test_foreign_kernels.py::test_a_kernel_from_elsewhere_gives_what_the_table_says"
SANITIZER = "test_foreign_kernels.py::test_sanitizer_says_exactly_what_is_wrong_with_a_program"

HELD_BY = {
    "W1 atomicAdd of floats in shared memory never ended":
        "test_sass.py::test_atomic_sums_of_floats_in_shared_memory_come_to_an_end",
    "W2 infinity chosen in double was NaN": "test_sass.py::test_infinity_may_be_chosen_in_float64",
    "W3 the smaller half dropped signs": "test_sass_rules.py::test_the_smaller_of_two_halves_heeds_signs_and_places",
    "W4 variables were not shared by kernels":
        "test_raw_module.py::test_module_variables_are_shared_by_kernels_and_keep_values",
    "W5 atomics on halves added bits":
        "test_ptx_memory.py::test_atomic_sums_of_16_bit_numbers_add_numbers_and_not_bits",
    "W6 who spins starved whom it waits for":
        "test_schedule.py::test_threads_of_two_warps_take_a_lock_in_turns_in_ptx_too",
    "W7 a kernel without parameters crashed": "test_raw_module.py::test_a_kernel_without_parameters_runs",
    "W8 bare Python errors in place of a message":
        "test_ptx_forms.py::test_unmodelled_ptx_is_refused_in_a_sentence_with_its_line",
    "W9 relu of NaN was 0": "test_instruction_goldens.py::test_ptx_of_a_form_answers_what_its_machine_code_does",
    "W10 atomic sums kept subnormal numbers":
        "test_ptx_memory.py::test_float_atomics_flush_subnormals_in_global_memory_alone",
    "W11 the sign of zero in fmin of doubles":
        "test_instruction_goldens.py::test_ptx_of_a_form_answers_what_its_machine_code_does",
    "W12 big-endian arrays were read wrongly":
        "test_raw_module.py::test_an_array_in_another_byte_order_is_refused_in_a_sentence",
    "F1 padding of a struct":
        "test_unused_values.py::test_struct_is_copied_with_padding_but_not_without_a_member",
    "F2 unused lanes of a float4": "test_unused_values.py::test_of_four_floats_at_the_end_of_an_array_two_may_be_used",
    "F3 a select": "test_unused_values.py::test_of_two_values_the_one_that_is_not_taken_may_be_anything",
    "F4 atom.acq_rel": "test_ptx_forms.py::test_an_atomic_with_a_memory_order_is_a_fence",
    "F5 a plain read beside atomicMin is a race; what the message advises runs": KERNELS,
    "F6 bits that empty leaves":
        "test_checks.py::test_host_writes_count_even_with_the_bits_of_empty",
    "F7 an exchange whose old value nobody uses":
        "test_unused_values.py::test_an_exchange_whose_old_value_is_unused_is_a_store",
    "M1 wrong masks": "test_checks.py::test_a_wrong_mask_is_found_at_its_line",
    "M2 the counter without its barrier":
        "test_each_piece_is_needed.py::test_without_one_piece_it_is_a_race",
    "M3 the neighbour in shared memory":
        "test_match_by_address.py::test_index_into_the_neighbour_on_its_line_is_found_in_sass",
    "M3 outside of a local array": "test_checks.py::test_an_array_of_a_thread_is_watched",
    "M4 uninitialised local arrays": "test_checks.py::test_an_array_of_a_thread_is_watched",
    "M4 empty arrays of narrow integers": "test_checks.py::test_unwritten_narrow_integers_are_found",
    "M4 empty arrays of halves": "test_unused_values.py::test_unwritten_halves_are_found_as_floats_are",
    "M5 writes outside of a view": "test_checks.py::test_what_is_written_outside_of_a_view_is_found",
    "M6 volatile updates are legal": SANITIZER,
    "F8 volatile variables of a producer and a consumer":
        "test_handing_on.py::test_shared_volatile_flag_orders_data_only_behind_a_fence",
    "F9 a counter that ptxas lets one thread increase for its warp":
        "test_handing_on.py::test_thread_counting_for_its_warp_releases_all_its_writes",
    "F10 a 16-bit atomicCAS at the end of an array":
        "test_checks.py::test_cas_of_half_words_stays_within_its_array",
    "M7 another variable than the flag":
        "test_handing_on.py::test_variable_used_by_one_of_two_blocks_orders_nothing",
    "W14 64-bit exchanges through a pointer to shared memory": KERNELS,
    "W15 uniform registers of the sides of a branch, in NumPy":
        "test_schedule.py::test_threads_that_only_compute_keep_the_turn_of_their_warp",
    "G1 switch": "test_sass.py::test_a_switch_goes_to_each_of_its_cases",
    "G2 headers": "compiler/test_portable.py::test_a_header_of_the_host_is_allowed",
    "G3 get_global":
        "test_module_variables.py::test_constants_are_filled_before_and_between_launches",
    "G4 clocks": "test_system.py::test_a_clock_of_32_bits_and_the_global_timer_go_on",
    "G5 named barriers": "test_named_barriers.py::test_a_part_of_a_block_waits_for_itself",
    "G6 calls at PTX level": "test_ptx_calls.py::test_calls_give_in_ptx_what_machine_code_gives",
    "G7 halves": "test_instruction_goldens.py::test_machine_code_of_a_form_answers_what_the_gpu_answered",
    "G8 parts of registers": "test_sass.py::test_arithmetic_on_register_parts_gives_the_bits_of_ptx",
    "G9 tensor cores": "test_tensor_core.py::test_every_tensor_core_product_has_the_bits_of_an_h200",
    "G10 clusters and mbarriers": "test_clusters.py::test_blocks_read_what_their_neighbours_stored",
    "G11 textures, new": "test_textures.py::test_the_texture_unit_answers_what_the_gpu_answered",
    "G12 older architectures": "compiler/test_build.py::test_every_architecture_that_the_compiler_knows_compiles",
    "M9 what other blocks left who had not counted themselves yet":
        "test_handing_on.py::test_last_to_count_alone_acquires_the_parts_of_all",
    "M8 a phase of an mbarrier was a barrier of the block":
        "test_producers.py::test_ended_phase_orders_nothing_for_warps_that_do_not_wait",
    "W16 numbers of multiprocessors and warps were 0 in machine code":
        "test_system.py::test_kernel_reads_its_counts_of_sms_warps_and_memory",
    "G14 barriers whose address a lane computes, with checks":
        "test_match_by_address.py::test_representative_threads_form_warps_where_warps_are_asked",
    "G13 a table of functions in a module of two kernels":
        "test_ptx_calls.py::test_kernels_of_a_module_share_a_function_table",
    "F11 numbers behind an array in shared memory that the compiler loads and nobody uses":
        "test_unused_values.py::"
        "test_unused_loads_beyond_an_arrays_end_are_no_error",
    "F12 bit-fields in code for a debugger": "test_debug_code.py::test_bits_of_a_word_are_stored_one_after_the_other",
    "F13 a return before a barrier in code for a debugger":
        "test_debug_code.py::test_returned_threads_are_not_awaited_at_a_barrier",
    "G15 printf in machine code for a debugger":
        "test_debug_code.py::test_functions_of_the_system_are_called_by_their_names",
    "G16 traits and pairs of std": "compiler/test_portable.py::test_names_that_the_hosts_headers_bring_exist",
    "G17 complex numbers of CuPy":
        "compiler/test_portable.py::test_complex_numbers_of_cupy_and_of_thrust_are_those_of_cuda",
    "G18 reductions of CuPy's":
        "test_cupy_names.py::test_reduction_is_over_all_elements_or_along_an_axis",
}  # fmt: skip
