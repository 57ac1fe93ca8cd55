/** How long a recipient stays this process's when it says nothing more of it. */
export const leaseSeconds = 60;
export const renewEveryMs = 20_000;
