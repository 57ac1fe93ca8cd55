import { isObject } from '../../sdk/browser.ts';

/** Of an answer after which there are more. */
export const cursorIn = (answer: unknown): string | undefined =>
  isObject(answer) && typeof answer['cursor'] === 'string' ? answer['cursor'] : undefined;

/** What a screen asks for at most: beyond it, the command line is the better place. */
const maxPages = 5;

/** The first answers of a list that comes in portions. */
export async function firstPages<Answer extends { cursor?: string }>(
  pages: AsyncGenerator<Answer, void>,
  count = maxPages,
): Promise<{ answers: Answer[]; isCut: boolean }> {
  const answers: Answer[] = [];
  for await (const answer of pages) {
    answers.push(answer);
    if (answers.length === count) break;
  }
  return { answers, isCut: answers.at(-1)?.cursor !== undefined };
}
