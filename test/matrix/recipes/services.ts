import { type Kitchen, made201, scopable, unique } from '../recipe.ts';

/** Made at on-call’s door, which needs no entitlement: uptime and on-call show the same services. */
export const service = async ({ at }: Kitchen) => scopable((await made201(at.post('/oncall/services', { name: unique('service') }))).id);

export const newService = () => ({ name: unique('service') });
