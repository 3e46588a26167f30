/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes what a library says of its kernels, and their images, for
 * test_fatbin.py. */

#include "runtime/Description.h"
#include <stdio.h>

static void show(FILE *list, const char *target, const char *part,
                 const gatefold_kernel *kernel) {
  if (kernel->name)
    fprintf(list, "%s %s %s %d %d %lld\n", target, part, kernel->name,
            (int)kernel->threads, (int)kernel->shared_bytes,
            (long long)kernel->word_count);
}

/* Into files FOLDER/TARGET.image and FOLDER/kernels; 0 where all were written.
 */
int write_variants(const gatefold_description *description,
                   const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/kernels", folder);
  FILE *list = fopen(path, "w");
  if (!list)
    return 1;
  for (int64_t i = 0; i < description->variant_count; ++i) {
    const gatefold_variant *variant = &description->variants[i];
    show(list, variant->target, "run", &variant->run);
    show(list, variant->target, "prepare", &variant->prepare);
    snprintf(path, sizeof path, "%s/%s.image", folder, variant->target);
    FILE *image = fopen(path, "wb");
    if (!image || fwrite(variant->image, 1, variant->image_bytes, image) !=
                      variant->image_bytes)
      return 1;
    fclose(image);
  }
  return fclose(list);
}
