/* A program of 400,000 functions that runs for some milliseconds. */
	.altmacro
	.macro function number
	.type a_function_of_many_\number, @function
a_function_of_many_\number:
	ret
	.size a_function_of_many_\number, 1
	.endm
	.text
	.set i, 0
	.rept 400000
	function %i
	.set i, i + 1
	.endr
	.globl main
	.type main, @function
main:
	.cfi_startproc
	mov $3000000, %ecx
1:	dec %ecx
	jnz 1b
	xor %eax, %eax
	ret
	.cfi_endproc
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
