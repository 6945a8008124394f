/* The thread's slot of OTEP 4947, in the program or in a library. */
#ifndef SLOT_H
#define SLOT_H
void* volatile* context_slot(void);
#endif
