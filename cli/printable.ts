/** Names, subjects and sentences may be other people's: what would steer the terminal is shown instead of obeyed. */
export const printable = (text: string) => text.replaceAll(/[^\P{Cc}\n\t]/gu, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
