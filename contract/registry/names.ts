import Type from 'typebox';
import { input, oneOf } from '../common.ts';

// The grammars of the OCI distribution specification, so that what cannot exist is a 400 and not a 404.
const part = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';

export const repo = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: `^${part}(?:/${part})*$`,
  description: 'A repository’s name below the registry, in lower-case letters and digits with . _ - or / between them, such as team/app',
});
export const tag = Type.String({
  maxLength: 128,
  pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$',
  description: 'A tag of at most 128 letters, digits, dots, hyphens and underscores, such as v1.2',
});
export const digest = Type.String({
  maxLength: 135,
  pattern: '^(sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})$',
  description: '`sha256:` and 64 hex digits in lower case, or `sha512:` and 128 of them',
});
export const tagPrefix = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$',
  description: 'The beginning of the tags to list, at most 128 letters, digits, dots, hyphens and underscores, such as v1.2',
});
export const repoPrefix = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[a-z0-9][a-z0-9._/-]{0,254}$',
  description: 'The beginning of the names to list, in lower-case letters and digits with . _ - or / between them, such as team/',
});
export const reference = Type.String({
  minLength: 1,
  maxLength: 135,
  pattern: '^([A-Za-z0-9_][A-Za-z0-9._-]{0,127}|sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})$',
  description: 'A tag, or a digest',
});
export const mode = oneOf(['pull', 'readwrite']);

const glob = (description: string, pattern: string) => Type.String({ minLength: 1, maxLength: 255, pattern, description });

export const immutableTags = Type.Array(
  glob(
    'A tag, or repository:tag, where `*` stands for any run of characters: `v*`, `team/app:release-*`',
    '^[a-zA-Z0-9._/*-]+(:[a-zA-Z0-9._*-]+)?$',
  ),
  { maxItems: 100, description: 'Tags that can neither move nor be deleted, nor what they lead to; empty: none' },
);

const days = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 36_500, description }));

export const Retention = input(
  {
    untaggedDays: days('Untagged images go so many days after they were pushed and last pulled'),
    rules: Type.Optional(
      Type.Array(
        input({
          repositories: Type.Optional(
            glob(
              'A repository’s name in lower case, where `*` stands for any run of characters: `team/*`; absent: all',
              '^[a-z0-9._/*-]+$',
            ),
          ),
          tags: Type.Optional(glob('A tag, where `*` stands for any run of characters: `v1.*`; absent: all', '^[a-zA-Z0-9._*-]+$')),
          keepLast: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 10_000,
              description:
                'The newest so many tags of a repository stay; signatures and whatever else is attached to an image are not counted',
            }),
          ),
          keepDays: days('Tags pushed or pulled within so many days stay'),
        }),
        { maxItems: 50, description: 'The first rule that fits a tag decides; a tag that none fits stays' },
      ),
    ),
  },
  { description: 'Empty: everything stays. What is attached to an image (signatures, attestations, SBOMs) stays and goes with it' },
);
