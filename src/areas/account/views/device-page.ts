import type { OwnOrg } from '../../../identity/store/members.ts';
import { escaped } from '../../../kernel/http/html.ts';
import { defaultLifetime, lifetimes, offeredRoles } from '../rules/device-choice.ts';
import { alertOf } from './form-parts.ts';

// The pages on which a person lets a program act for them. The code is typed, never taken from a link: a link of a stranger would have
// the person approve the sender's program.

/** The form for the code. `why`: what was wrong with the one before. */
export const codeForm = (why?: string): string =>
  `${alertOf(why)}<p>A program that you started shows a code of eight letters. Type it here.</p>
<form class="wide" method="post" action="/device"><label for="code">Code</label><input id="code" name="code" required autofocus autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="30" placeholder="XXXX-XXXX"><br><button>Go on</button></form>
<p class="faint">Never type a code that another person sent you: the program of that person would then act for you.</p>`;

interface Asking {
  program: string;
  address: string;
  age_seconds: number;
}

/** What asks, and what it may get. */
export const approvalForm = (code: string, { program, address, age_seconds }: Asking, email: string, organizations: readonly OwnOrg[]) =>
  `<p><b><bdi>${escaped(program)}</bdi></b> asks to act for you, ${escaped(email)}.<br><span class="faint">It asked from ${escaped(address)}, ${agoInWords(age_seconds)}. The name is its own.</span></p>
<p>Approve only if you started it yourself just now, and its code stands on your own screen.</p>
<form class="wide" method="post" action="/device/approve"><input type="hidden" name="code" value="${escaped(code)}">
${organizationChoice(organizations)}
<fieldset><legend>It may</legend>
${radio('everything', 'do everything that I may', true)}${radio('see', 'see everything that I may see, and change nothing')}${radio('roles', 'only what these roles allow:')}
<details><summary>Roles</summary>${offeredRoles.map(({ id, name }) => `<label class="choice"><input type="checkbox" name="role.${escaped(id)}"> <span>${escaped(name)}</span></label>`).join('')}</details></fieldset>
<label for="days">For</label><select id="days" name="days">${lifetimes.map((days) => `<option value="${days}"${days === defaultLifetime ? ' selected' : ''}>${days} days</option>`).join('')}</select><br>
<button>Approve</button></form>
<form method="post" action="/device/refuse"><input type="hidden" name="code" value="${escaped(code)}"><button class="plain">Refuse</button></form>`;

const radio = (value: string, label: string, isChosen = false) =>
  `<label class="choice"><input type="radio" name="rights" value="${value}"${isChosen ? ' checked' : ''}> <span>${label}</span></label>`;

function organizationChoice(organizations: readonly OwnOrg[]): string {
  const [first] = organizations;
  if (organizations.length === 1)
    return `<p>In the organization <b>${escaped(first!.name)}</b>.</p><input type="hidden" name="organization" value="${escaped(first!.slug)}">`;
  const options = organizations.map(({ slug, name }) => `<option value="${escaped(slug)}">${escaped(name)}</option>`).join('');
  return `<label for="organization">In the organization</label><select id="organization" name="organization">${options}</select>`;
}

const agoInWords = (seconds: number) => (seconds < 60 ? `${Math.max(0, seconds)} seconds ago` : `${Math.floor(seconds / 60)} minutes ago`);
