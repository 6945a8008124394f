// The smallest program with a stack worth sampling: no libc, two functions, unwind tables, a build
// id. It burns some 0.2 ms and ends. churn.c makes thousands of different executables of it.
typedef unsigned long long u64;

__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	xor %ebp, %ebp\n"
	"	call tiny_main\n"
	"	mov %eax, %edi\n"
	"	mov $60, %eax\n" /* exit */
	"	syscall\n"
	"	.cfi_endproc\n"
	"	.size _start, . - _start\n");

volatile u64 sink = 1;

__attribute__((noinline)) u64 tiny_leaf(u64 x)
{
	for (int i = 0; i < 60000; i++)
		x = x * 6364136223846793005ULL + (x >> 33);
	return x;
}

__attribute__((used)) int tiny_main(void)
{
	sink = tiny_leaf(sink) + 1;
	return 0;
}
