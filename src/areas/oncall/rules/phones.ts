/** E.164: a plus, a country code, at most 15 digits. Only the provider knows whether the number exists. */
export const isPhone = (text: string): boolean => /^\+[1-9]\d{6,14}$/.test(text);
