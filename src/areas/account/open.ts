import type { Host, Opened } from '../area.ts';
import { accountForms } from './planes/forms/account.ts';
import { deviceForms } from './planes/forms/device.ts';
import { makeForms } from './planes/forms/forms.ts';
import { joinForms } from './planes/forms/join.ts';
import { linkForms } from './planes/forms/links.ts';
import { passkeyForms } from './planes/forms/passkeys.ts';
import { passwordForms } from './planes/forms/password.ts';
import { profilePlane } from './planes/forms/profile.ts';
import { resetForms } from './planes/forms/reset.ts';
import { secondFactorForms } from './planes/forms/second-factor.ts';
import { sessionForms } from './planes/forms/sessions.ts';
import { signInForms } from './planes/forms/sign-in.ts';
import { tokenForms } from './planes/forms/tokens.ts';

export const openAccount = ({ app }: Host): Opened<undefined> => ({
  own: undefined,
  routes: (server) => {
    const forms = makeForms(app);
    linkForms(server, forms);
    signInForms(server, forms);
    passwordForms(server, forms);
    secondFactorForms(server, forms);
    sessionForms(server, forms);
    accountForms(server, forms);
    passkeyForms(server, forms);
    joinForms(server, forms);
    resetForms(server, forms);
    profilePlane(server, forms);
    tokenForms(server, forms);
    deviceForms(server, forms);
  },
});
