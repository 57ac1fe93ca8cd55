/** Whether mail to the address can arrive: the first owner has an address of this machine until they choose one. */
export const isMailable = (email: string): boolean => !/@localhost$/i.test(email);
