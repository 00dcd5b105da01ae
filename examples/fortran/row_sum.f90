! The kernel of a spec, called from Fortran: row_sum SPEC. The spec's x has the shape (ROWS, N) in C order, which is
! x(n, rows) in Fortran's, so the kernel sums columns of Fortran's array.
program row_sum
  use, intrinsic :: iso_c_binding
  use xtune
  implicit none
  integer, parameter :: n = 4096, rows = 256
  type(xtune_kernel) :: kernel
  real(c_float), allocatable, target :: x(:, :), y(:)
  character(len=1024) :: spec

  allocate (x(n, rows), y(rows))
  call random_number(x)
  if (command_argument_count() /= 1) error stop "usage: row_sum SPEC"
  call get_command_argument(1, spec)

  call xtune_load(kernel, spec, backend="host")
  call xtune_call(kernel, [xtune_array("x", x), xtune_array("y", y)])
  call xtune_free(kernel)

  print "(a, es9.2)", "largest difference from sum(x, dim=1):", maxval(abs(y - sum(x, dim=1)))
  if (any(abs(y - sum(x, dim=1)) > 1e-4 * n)) error stop "wrong sums"
end program row_sum
