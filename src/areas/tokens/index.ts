import { defineArea } from '../area.ts';
import { openTokens } from './open.ts';
import { createToken } from './operations/create-token.ts';
import { deleteToken } from './operations/delete-token.ts';
import { listScopeOptions } from './operations/list-scope-options.ts';
import { listTokens } from './operations/list-tokens.ts';
import { updateToken } from './operations/update-token.ts';
import { forgetTokens } from './tasks.ts';

export const tokens = defineArea({
  name: 'tokens',
  operations: [listTokens, createToken, listScopeOptions, updateToken, deleteToken],
  tasks: [forgetTokens],
  open: openTokens,
});
