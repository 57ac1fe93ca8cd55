import type { Recipes } from '../recipe.ts';

export const live: Recipes = { streamEvents: {} };
