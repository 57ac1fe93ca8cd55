/** Text as it is shown on pages and in mails: on one line, without control characters and without those that turn the direction of writing. */
export const oneLine = (text: string): string => text.replaceAll(/[\s\p{C}]+/gu, ' ').trim();
