import { escaped } from '../../../kernel/http/html.ts';

/** What a new member or owner has to do, until it is done. */
export function firstSteps({ email, name, hasWayIn }: { email: string; name: string; hasWayIn: boolean }): string {
  const steps = [
    ...(hasWayIn
      ? []
      : [
          'You cannot sign in by yourself yet: <a href="/account/passkeys">add a passkey</a> or <a href="/account/password">choose a password</a> next.',
        ]),
    ...(/@localhost$/i.test(email) ? [`<a href="#email">Enter your mail address</a>: ${escaped(email)} receives nothing.`] : []),
    ...(name === '' || name === 'owner' ? ['<a href="#name">Enter your name</a>, as colleagues read it.'] : []),
  ];
  return steps.length ? `<h2>First steps</h2><ul>${steps.map((step) => `<li>${step}</li>`).join('')}</ul>` : '';
}
