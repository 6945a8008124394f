/* Two functions whose caller's frame pointer is below the stack pointer while they run, as their unwind rules say. */
	.text
	/* As compilers write the end of a function: the pop does not change the rule of what it took. */
	.globl PoppedLeaf
	.type PoppedLeaf, @function
PoppedLeaf:
	.cfi_startproc
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	popq %rbp
	.cfi_def_cfa_offset 8
	movl $1000000, %ecx
1:	imulq $69069, %rax, %rax
	addq $1, %rax
	decl %ecx
	jnz 1b
	ret
	.cfi_endproc
	.size PoppedLeaf, .-PoppedLeaf

	/* A leaf that keeps it in the red zone and uses the register for itself. */
	.globl SavedBelowLeaf
	.type SavedBelowLeaf, @function
SavedBelowLeaf:
	.cfi_startproc
	movq %rbp, -120(%rsp)
	.cfi_offset %rbp, -128
	movl $1000000, %ebp
1:	imulq $69069, %rax, %rax
	addq $1, %rax
	decl %ebp
	jnz 1b
	movq -120(%rsp), %rbp
	ret
	.cfi_endproc
	.size SavedBelowLeaf, .-SavedBelowLeaf
	.section .note.GNU-stack, "", @progbits
