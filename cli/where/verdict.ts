import { exitCodes, Failure } from '../exit.ts';

interface Diagnosis {
  paged: boolean;
}

/** `oncall doctor` fails when an incident of some service would page no one. Pages behind the printed one count too. */
export async function requireEveryonePaged(
  answer: Record<string, unknown>,
  rest: (cursor: string) => AsyncGenerator<{ services: Diagnosis[] }>,
): Promise<void> {
  const services = [...((answer['services'] ?? []) as Diagnosis[])];
  if (typeof answer['cursor'] === 'string') for await (const page of rest(answer['cursor'])) services.push(...page.services);
  const unpaged = services.filter(({ paged }) => !paged).length;
  if (unpaged)
    throw new Failure(exitCodes.wrong, `for ${unpaged} of ${services.length} services no one would be paged; see their problems above`);
}
