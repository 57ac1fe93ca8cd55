import { defineArea } from '../area.ts';

export const email = defineArea({
  name: 'email',
  operations: [],
  migrations: { schema: 'email', folder: new URL('./migrations/', import.meta.url) },
  sealed: [
    { table: 'email.domain', column: 'rsa_private', id: 'id' },
    { table: 'email.domain', column: 'ed_private', id: 'id' },
    { table: 'email.return_path_key', column: 'sealed', id: '(one::text)' },
  ],
});
