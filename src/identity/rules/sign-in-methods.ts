/**
 * Whether somebody who proved themselves in these ways needs more than one thing to do so. A passkey asks for a finger or a PIN besides. A
 * link comes from the operator, who stands above every organization.
 */
export const hasSecondFactor = (methods: readonly string[]): boolean =>
  methods.some((method) => method === 'passkey' || method === 'totp' || method === 'recovery' || method === 'link');
