/** What the log shows of a message that was canceled. */
export const canceled = 'it was canceled before its time';
