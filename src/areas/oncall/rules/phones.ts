/** E.164: a plus, a country, at most 15 digits. Whether anybody answers is the provider's to say. */
export const isPhone = (text: string): boolean => /^\+[1-9]\d{6,14}$/.test(text);
