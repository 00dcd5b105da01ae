! SPDX-License-Identifier: Apache-2.0
! Fortran's module of libxtune, whose C interface it calls (include/xtune/xtune.h). Fortran 2018: compile this file with
! the program, because compilers do not read each other's modules.
!
! An array goes to a kernel as it lies in memory: Fortran's x(n, rows) is C's x[rows][n], so extents are reversed.
! xtune_transposed keeps Fortran's order for kernels that take transposed views. Arrays must have the attribute target.
! Without stat, a failure ends the program with its text, as for allocate.
module xtune
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: xtune_kernel, xtune_argument, xtune_load, xtune_call, xtune_prepare, xtune_free, xtune_error
  public :: xtune_array, xtune_transposed, xtune_value

  integer, parameter, public :: xtune_ok = 0, xtune_invalid_spec = 1, xtune_invalid_argument = 2, xtune_unavailable = 3, &
    xtune_unsupported = 4, xtune_nothing_valid = 5, xtune_io = 6, xtune_interrupted = 7, xtune_internal = 8
  integer, parameter, public :: xtune_lookup = 0, xtune_tune_once = 1, xtune_tune_in_background = 2
  integer, parameter, public :: xtune_f8e4m3 = 1, xtune_f8e5m2 = 2, xtune_f16 = 3, xtune_bf16 = 4, xtune_f32 = 5, &
    xtune_f64 = 6, xtune_i8 = 7, xtune_i16 = 8, xtune_i32 = 9, xtune_i64 = 10, xtune_u8 = 11, xtune_u16 = 12, &
    xtune_u32 = 13, xtune_u64 = 14, xtune_bool = 15, xtune_c64 = 16, xtune_c128 = 17
  integer(c_int32_t), parameter :: is_array = 1, is_integer = 2, is_real = 3, is_boolean = 4, is_text = 5
  integer, parameter :: max_rank = 8, max_text = 256

  type, bind(c) :: c_argument  ! struct xtune_argument
    type(c_ptr) :: name = c_null_ptr
    integer(c_int32_t) :: kind = 0, type = 0
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: is_read_only = 0, rank = 0
    integer(c_int64_t) :: shape(max_rank) = 0, strides(max_rank) = 0, integer = 0
    real(c_double) :: real = 0
    type(c_ptr) :: text = c_null_ptr
  end type

  type, bind(c) :: c_settings  ! struct xtune_settings
    integer(c_size_t) :: size = 0
    type(c_ptr) :: backend = c_null_ptr, compiler = c_null_ptr, arch = c_null_ptr, store = c_null_ptr, &
      bundle = c_null_ptr, defines = c_null_ptr
    integer(c_size_t) :: define_count = 0
    integer(c_int32_t) :: policy = 0, is_frozen = 0, is_unchecked = 0, never_compiles = 0
    real(c_double) :: tune_seconds = 0
    type(c_funptr) :: on_message = c_null_funptr
    type(c_ptr) :: on_message_data = c_null_ptr
  end type

  type :: xtune_kernel
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  type :: xtune_argument  ! an argument of a call by its name
    private
    character(kind=c_char) :: name(max_text) = c_null_char, text(max_text) = c_null_char
    type(c_argument) :: value
  end type

  ! xtune_array(name, a): an array of any rank; xtune_array(name, pointer, type, shape): memory of the device, with
  ! one of the types above and Fortran's order of extents.
  interface xtune_array
    procedure array_f32, array_f64, array_i32, array_i64, array_c64, array_c128, array_at
  end interface

  ! xtune_value(name, value): a scalar of the kernel, or a name of the spec's [problem].
  interface xtune_value
    procedure value_i32, value_i64, value_f32, value_f64, value_logical, value_text
  end interface

  interface
    integer(c_int) function c_load(kernel, spec, settings) bind(c, name="xtune_load")
      import
      type(c_ptr), intent(out) :: kernel
      character(kind=c_char), intent(in) :: spec(*)
      type(c_settings), intent(in) :: settings
    end function
    integer(c_int) function c_call(kernel, stream, arguments, count) bind(c, name="xtune_call")
      import
      type(c_ptr), value :: kernel, stream
      type(c_argument), intent(in) :: arguments(*)
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_prepare(kernel, arguments, count) bind(c, name="xtune_prepare")
      import
      type(c_ptr), value :: kernel
      type(c_argument), intent(in) :: arguments(*)
      integer(c_size_t), value :: count
    end function
    subroutine c_free(kernel) bind(c, name="xtune_free")
      import
      type(c_ptr), value :: kernel
    end subroutine
    type(c_ptr) function c_error() bind(c, name="xtune_error")
      import
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import
      type(c_ptr), value :: text
    end function
  end interface

contains

  subroutine xtune_load(kernel, spec, backend, store, bundle, policy, tune_seconds, stat)
    type(xtune_kernel), intent(out) :: kernel
    character(len=*), intent(in) :: spec
    character(len=*), intent(in), optional :: backend, store, bundle
    integer, intent(in), optional :: policy
    real(c_double), intent(in), optional :: tune_seconds
    integer, intent(out), optional :: stat
    character(kind=c_char), allocatable, target :: backend_text(:), store_text(:), bundle_text(:)
    type(c_settings) :: settings
    settings%size = c_sizeof(settings)
    if (present(backend)) then
      backend_text = c_text(backend)
      settings%backend = c_loc(backend_text)
    end if
    if (present(store)) then
      store_text = c_text(store)
      settings%store = c_loc(store_text)
    end if
    if (present(bundle)) then
      bundle_text = c_text(bundle)
      settings%bundle = c_loc(bundle_text)
    end if
    if (present(policy)) settings%policy = int(policy, c_int32_t)
    if (present(tune_seconds)) settings%tune_seconds = tune_seconds
    call finish(c_load(kernel%handle, c_text(spec), settings), stat)
  end subroutine

  ! Queues one launch. stream: a CUDA or HIP stream; the default is the default stream.
  subroutine xtune_call(kernel, arguments, stream, stat)
    type(xtune_kernel), intent(in) :: kernel
    type(xtune_argument), intent(in), target :: arguments(:)
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    type(c_ptr) :: handle
    handle = c_null_ptr
    if (present(stream)) handle = stream
    call finish(c_call(kernel%handle, handle, c_arguments(arguments), size(arguments, kind=c_size_t)), stat)
  end subroutine

  ! Prepares such a call, but launches nothing.
  subroutine xtune_prepare(kernel, arguments, stat)
    type(xtune_kernel), intent(in) :: kernel
    type(xtune_argument), intent(in), target :: arguments(:)
    integer, intent(out), optional :: stat
    call finish(c_prepare(kernel%handle, c_arguments(arguments), size(arguments, kind=c_size_t)), stat)
  end subroutine

  subroutine xtune_free(kernel)
    type(xtune_kernel), intent(inout) :: kernel
    call c_free(kernel%handle)
    kernel%handle = c_null_ptr
  end subroutine

  ! Why the last call failed on this thread.
  function xtune_error() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: from
    integer :: i
    from = c_error()
    call c_f_pointer(from, letters, [c_strlen(from)])
    allocate (character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  ! A matrix in Fortran's own order of indices, as a transposed view.
  type(xtune_argument) function xtune_transposed(matrix) result(view)
    type(xtune_argument), intent(in) :: matrix
    view = matrix
    view%value%shape(1:2) = matrix%value%shape(2:1:-1)
    view%value%strides(1:2) = [1_c_int64_t, matrix%value%shape(2)]
  end function

  type(xtune_argument) function array_at(name, memory, type, shape) result(argument)
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: memory
    integer, intent(in) :: type, shape(:)
    argument = described(name, memory, type, int(shape, c_int64_t), .true.)
  end function

  type(xtune_argument) function array_f32(name, a) result(argument)
    character(len=*), intent(in) :: name
    real(c_float), intent(in), target :: a(..)
    argument = described(name, c_loc(a), xtune_f32, shape(a, c_int64_t), is_contiguous(a))
  end function

  type(xtune_argument) function array_f64(name, a) result(argument)
    character(len=*), intent(in) :: name
    real(c_double), intent(in), target :: a(..)
    argument = described(name, c_loc(a), xtune_f64, shape(a, c_int64_t), is_contiguous(a))
  end function

  type(xtune_argument) function array_i32(name, a) result(argument)
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in), target :: a(..)
    argument = described(name, c_loc(a), xtune_i32, shape(a, c_int64_t), is_contiguous(a))
  end function

  type(xtune_argument) function array_i64(name, a) result(argument)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in), target :: a(..)
    argument = described(name, c_loc(a), xtune_i64, shape(a, c_int64_t), is_contiguous(a))
  end function

  type(xtune_argument) function array_c64(name, a) result(argument)
    character(len=*), intent(in) :: name
    complex(c_float_complex), intent(in), target :: a(..)
    argument = described(name, c_loc(a), xtune_c64, shape(a, c_int64_t), is_contiguous(a))
  end function

  type(xtune_argument) function array_c128(name, a) result(argument)
    character(len=*), intent(in) :: name
    complex(c_double_complex), intent(in), target :: a(..)
    argument = described(name, c_loc(a), xtune_c128, shape(a, c_int64_t), is_contiguous(a))
  end function

  type(xtune_argument) function value_i32(name, value) result(argument)
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in) :: value
    argument = value_i64(name, int(value, c_int64_t))
  end function

  type(xtune_argument) function value_i64(name, value) result(argument)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: value
    argument = named(name, is_integer)
    argument%value%integer = value
  end function

  type(xtune_argument) function value_f32(name, value) result(argument)
    character(len=*), intent(in) :: name
    real(c_float), intent(in) :: value
    argument = value_f64(name, real(value, c_double))
  end function

  type(xtune_argument) function value_f64(name, value) result(argument)
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: value
    argument = named(name, is_real)
    argument%value%real = value
  end function

  type(xtune_argument) function value_logical(name, value) result(argument)
    character(len=*), intent(in) :: name
    logical, intent(in) :: value
    argument = named(name, is_boolean)
    argument%value%integer = merge(1_c_int64_t, 0_c_int64_t, value)
  end function

  type(xtune_argument) function value_text(name, value) result(argument)
    character(len=*), intent(in) :: name, value
    argument = named(name, is_text)
    call copy(value, argument%text)
  end function

  type(xtune_argument) function named(name, kind) result(argument)
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in) :: kind
    call copy(name, argument%name)
    argument%value%kind = kind
  end function

  type(xtune_argument) function described(name, memory, type, extents, contiguous) result(argument)
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: memory
    integer, intent(in) :: type
    integer(c_int64_t), intent(in) :: extents(:)
    logical, intent(in) :: contiguous
    integer :: dimensions
    dimensions = size(extents)
    argument = named(name, is_array)
    argument%value%type = int(type, c_int32_t)
    argument%value%data = memory
    argument%value%rank = int(dimensions, c_int32_t)
    if (dimensions > max_rank) return  ! which the library refuses
    argument%value%shape(1:dimensions) = extents(dimensions:1:-1)
    ! Kernels take no such array; with any strides that are not those of a dense one, the library says so.
    if (.not. contiguous) argument%value%strides(1:dimensions) = 2
  end function

  function c_arguments(arguments) result(passed)
    type(xtune_argument), intent(in), target :: arguments(:)
    type(c_argument) :: passed(size(arguments))
    integer :: i
    do i = 1, size(arguments)
      passed(i) = arguments(i)%value
      passed(i)%name = c_loc(arguments(i)%name)
      passed(i)%text = c_loc(arguments(i)%text)
    end do
  end function

  function c_text(text) result(letters)
    character(len=*), intent(in) :: text
    character(kind=c_char) :: letters(len_trim(text) + 1)
    call copy(text, letters)
  end function

  ! As C has it: ended by a zero, and cut to the length of the array.
  subroutine copy(text, letters)
    character(len=*), intent(in) :: text
    character(kind=c_char), intent(out) :: letters(:)
    integer :: i
    letters = c_null_char
    do i = 1, min(len_trim(text), size(letters) - 1)
      letters(i) = text(i:i)
    end do
  end subroutine

  subroutine finish(status, stat)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    if (present(stat)) then
      stat = int(status)
    else if (status /= xtune_ok) then
      write (error_unit, "(a)") xtune_error()
      error stop 1
    end if
  end subroutine

end module xtune
