/** How a person proved who they are. */
export const signInMethods = ['link', 'password', 'totp', 'recovery', 'passkey', 'invitation'] as const;
export type SignInMethod = (typeof signInMethods)[number];
