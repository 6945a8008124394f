/* A function whose caller's address is in a register while it runs, as hand-written code does, and
 * which says so in its unwind rules. */
	.text
	.globl RegisterReturnLeaf
	.type RegisterReturnLeaf, @function
RegisterReturnLeaf:
	.cfi_startproc
	popq %rdx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdx
	movl $1000000, %ecx
1:	imulq $69069, %rax, %rax
	addq $1, %rax
	decl %ecx
	jnz 1b
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -8
	ret
	.cfi_endproc
	.size RegisterReturnLeaf, .-RegisterReturnLeaf
	.section .note.GNU-stack, "", @progbits
