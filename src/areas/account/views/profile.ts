import { escaped } from '../../../kernel/http/html.ts';

/** A person's name and address, with the forms that change them. */
export const profileForms = ({ email, name }: { email: string; name: string }): string =>
  `<form method="post" action="/account/name" class="wide"><label for="name">Name</label><input id="name" name="name" value="${escaped(name)}" maxlength="100" autocomplete="name" required><button class="plain">Change name</button></form>` +
  `<form method="post" action="/account/address" class="wide"><label for="email">Address</label><input id="email" name="email" type="email" value="${escaped(email)}" maxlength="254" autocomplete="email" required><button class="plain">Change address</button></form>`;
