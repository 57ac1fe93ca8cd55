import { oneLine } from '../../../identity/rules/one-line.ts';

const unnamed = 'a program without a name';

/** What a stranger calls their program: it stands on a page, in a mail and in the list of tokens. */
export const programName = (given: string | undefined): string => oneLine(given ?? '') || unnamed;
