/** Shares of hard bounces and of complaints, in percent over 7 days, at which sending stops by itself. */
export const pauseAt = { bouncePct: 5, complaintPct: 0.3 };
