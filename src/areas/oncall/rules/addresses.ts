// The kinds of addresses at which people are paged. Each but the mailbox is given in the paging settings, under the name it has here.
import { isPhone } from './phones.ts';

interface AddressKind {
  isValid(text: string): boolean;
  /** The refusal of an invalid one. */
  refusal: string;
}

const kinds = {
  phone: { isValid: isPhone, refusal: 'phone must be in E.164 format, such as +33612345678' },
} satisfies Record<string, AddressKind>;

export type GivenAddresses = Record<keyof typeof kinds, string | null>;

/** The member's mailbox, and what that person gave. */
export type Addresses = GivenAddresses & { email: string | null };

export const addressKinds = Object.keys(kinds) as (keyof GivenAddresses)[];

/** Of the API's fields or a row's columns: those that are addresses; null for those that are absent. */
export const readAddresses = (fields: { readonly [kind in keyof GivenAddresses]?: string | null }): GivenAddresses =>
  Object.fromEntries(addressKinds.map((kind) => [kind, fields[kind] ?? null])) as GivenAddresses;

export const noAddresses: GivenAddresses = readAddresses({});

/** For the record, which says that an address was given, not which. */
export const whichAreGiven = (given: GivenAddresses): Record<keyof GivenAddresses, boolean> =>
  Object.fromEntries(addressKinds.map((kind) => [kind, given[kind] !== null])) as Record<keyof GivenAddresses, boolean>;

/** Why one of these is no address of its kind. */
export const refusalOfAddress = (given: GivenAddresses): string | undefined =>
  addressKinds.flatMap((kind) => (given[kind] === null || kinds[kind].isValid(given[kind]) ? [] : [kinds[kind].refusal]))[0];
