! Calls by Fortran: test SPEC.
program test
  use, intrinsic :: iso_c_binding
  use xtune
  implicit none
  type(xtune_kernel) :: kernel, missing
  real(c_float), target :: x(5, 4), y(5, 4), square(4, 4), wide(10, 4)
  character(len=1024) :: spec
  integer :: i, stat

  call get_command_argument(1, spec)
  x = reshape([(real(i, c_float), i = 1, size(x))], shape(x))
  call xtune_load(kernel, spec, backend="host")

  call xtune_prepare(kernel, [xtune_array("x", x)])
  call xtune_call(kernel, [xtune_array("x", x), xtune_array("y", y)])
  call check(equal(y, 2 * x), "a call with what lies in memory")
  call xtune_call(kernel, [xtune_array("x", x), xtune_array("y", y), xtune_value("alpha", 3), &
                           xtune_value("SIGN", "minus")], stream=c_null_ptr)
  call check(equal(y, -3 * x), "a scalar and a word")
  call xtune_call(kernel, [xtune_array("x", c_loc(x), xtune_f32, shape(x)), xtune_array("y", y), &
                           xtune_value("alpha", 0.5d0), xtune_value("NEGATED", .true.)])
  call check(equal(y, -0.5 * x), "an address, and a logical")
  square = x(:4, :)
  call xtune_call(kernel, [xtune_transposed(xtune_array("x", square)), xtune_array("y", y(:, :))], stat=stat)
  call check(stat == xtune_invalid_argument .and. index(xtune_error(), "'y' has") > 0, "shapes that do not agree")
  call xtune_call(kernel, [xtune_transposed(xtune_array("x", square)), xtune_array("y", wide(:4, 1))], stat=stat)
  call check(stat == xtune_invalid_argument .and. index(xtune_error(), "'y' has the shape (4)") > 0, "a wrong rank")
  call xtune_call(kernel, [xtune_transposed(xtune_array("x", square)), xtune_array("y", wide(1:8:2, :))], stat=stat)
  call check(stat == xtune_invalid_argument .and. index(xtune_error(), "'y' is not contiguous") > 0, "a section")
  call xtune_call(kernel, [xtune_transposed(xtune_array("x", square)), xtune_array("y", c_loc(y), xtune_f32, [4, 4])])
  call check(equal(reshape(y, [4, 4]), 2 * transpose(square)), "a transposed view")
  call xtune_load(missing, "no-such.toml", backend="host", policy=xtune_tune_once, tune_seconds=1d0, stat=stat)
  call check(stat == xtune_io .and. index(xtune_error(), "no-such.toml") > 0, "a spec that is missing")
  call xtune_free(missing)
  call xtune_free(kernel)
  call xtune_call(kernel, [xtune_array("x", x)], stat=stat)
  call check(stat == xtune_invalid_argument, "a kernel that was freed")

contains

  logical function equal(a, b)
    real(c_float), intent(in) :: a(:, :), b(:, :)
    equal = all(abs(a - b) <= 0)
  end function

  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(len=*), intent(in) :: what
    if (is_right) return
    print "(a)", what, "the last error: " // xtune_error()
    error stop 1
  end subroutine

end program test
