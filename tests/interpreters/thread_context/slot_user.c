/* A program that uses the slot. */
void *volatile *context_slot(void);

int main(void)
{
	return *context_slot() != 0;
}
