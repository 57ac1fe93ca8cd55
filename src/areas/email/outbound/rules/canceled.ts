/** `lastError` of a canceled message. */
export const canceled = 'it was canceled before its time';
