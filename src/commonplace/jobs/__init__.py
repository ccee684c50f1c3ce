"""Work that outlives its request: the worker, what an error means for a job, and who waits for one."""
