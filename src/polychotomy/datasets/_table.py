"""The papers' data sets: a table, no code.

Counts and checksums were read from files that agree with the UCI documentation. ``content`` and
``checksum`` are defined in ``_dataset.py``.
"""

from __future__ import annotations

from typing import Any

from ._facts import Facts

UCI = "UCI Machine Learning Repository"


def _words(text: str) -> list[str]:
    return text.split()


LETTER_INPUTS = _words(
    "x_box y_box width high onpix x_bar y_bar x2bar y2bar xybar x2ybr xy2br x_ege xegvy y_ege yegvx"
)
LETTER_COUNTS = _words(
    "789 766 736 805 768 775 773 734 755 747 739 761 792 783 753 803 783 758 748 796 813 764 752 "
    "787 786 734"
)
LETTER_CLASSES = {chr(ord("A") + k): int(count) for k, count in enumerate(LETTER_COUNTS)}
LETTER_CITATION = f"Slate, D. J. (1991), Letter Recognition, {UCI}"

DERMATOLOGY_GRADES = _words("""
    erythema scaling definite_borders itching koebner_phenomenon polygonal_papules
    follicular_papules oral_mucosal_involvement knee_and_elbow_involvement scalp_involvement
    family_history melanin_incontinence eosinophils_in_the_infiltrate pnl_infiltrate
    fibrosis_of_the_papillary_dermis exocytosis acanthosis hyperkeratosis parakeratosis
    clubbing_of_the_rete_ridges elongation_of_the_rete_ridges
    thinning_of_the_suprapapillary_epidermis spongiform_pustule munro_microabcess
    focal_hypergranulosis disappearance_of_the_granular_layer
    vacuolisation_and_damage_of_basal_layer spongiosis saw_tooth_appearance_of_retes
    follicular_horn_plug perifollicular_parakeratosis inflammatory_monoluclear_inflitrate
    band_like_infiltrate
""")
SEGMENT_INPUTS = _words("""
    region_centroid_col region_centroid_row region_pixel_count short_line_density_5
    short_line_density_2 vedge_mean vedge_sd hedge_mean hedge_sd intensity_mean rawred_mean
    rawblue_mean rawgreen_mean exred_mean exblue_mean exgreen_mean value_mean saturation_mean
    hue_mean
""")
SOYBEAN_INPUTS = _words("""
    date plant_stand precip temp hail crop_hist area_damaged severity seed_tmt germination leaves
    lodging stem_cankers canker_lesion fruiting_bodies external_decay mycelium int_discolor
    sclerotia fruit_pods roots
""")
VEHICLE_INPUTS = _words("""
    compactness circularity distance_circularity radius_ratio pr_axis_aspect_ratio
    max_length_aspect_ratio scatter_ratio elongatedness pr_axis_rectangularity
    max_length_rectangularity scaled_variance_major scaled_variance_minor
    scaled_radius_of_gyration skewness_major skewness_minor kurtosis_minor kurtosis_major
    hollows_ratio
""")
WINE_INPUTS = _words("""
    alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids
    nonflavanoid_phenols proanthocyanins color_intensity hue od280_od315_of_diluted_wines proline
""")
ZOO_INPUTS = _words("""
    hair feathers eggs milk airborne aquatic predator toothed backbone breathes venomous fins legs
    tail domestic catsize
""")
DNA_INPUTS = [f"A{number}" for number in range(180)]
LED_INPUTS = [f"led{number}" for number in range(1, 8)]


def _entry(name: str, feature_names: list[str], classes: dict[str, int], **more: Any) -> Facts:
    return Facts(
        name=name,
        rows=sum(classes.values()),
        inputs=len(feature_names),
        feature_names=tuple(feature_names),
        classes=classes,
        **more,
    )


ENTRIES = [
    _entry(
        "abe",
        LETTER_INPUTS,
        {"A": 789, "B": 766, "E": 768},
        title="Letter Recognition, classes A, B and E",
        papers="DUAN03 and DUAN05 (ABE)",
        citation=LETTER_CITATION,
        openml=6,
        content="0944e50fec3e375701ada90612f66e668e91f864d3f102fb0d38aa676b01815f",
        checksum="bb5279382f71566e9305af359b6a72afc64e85d6202e25ce78449db0d7d9d5d4",
    ),
    _entry(
        "balance-scale",
        ["left_weight", "left_distance", "right_weight", "right_distance"],
        {"L": 288, "B": 49, "R": 288},
        title="Balance Scale",
        papers="VANGESTEL (bal)",
        notes="All 625 combinations of four numbers from 1 to 5, so generated exactly.",
        citation=f"Siegler, R. (1976), Balance Scale, {UCI}",
        generated=True,
        openml=11,
        content="83278a7e2cc35de734cdfcb6a8af39cf41121e9962be1efeb838dbdd8581df5a",
        checksum="944302f7b6be5ef0ab47c9b82e3d964d378c73b1fa6193464bb4de859a254614",
    ),
    _entry(
        "dermatology",
        [*DERMATOLOGY_GRADES, "age"],
        {"1": 112, "2": 61, "3": 72, "4": 49, "5": 52, "6": 20},
        discrete=frozenset(DERMATOLOGY_GRADES),
        title="Dermatology",
        papers="VANGESTEL (der)",
        notes="Eight ages are missing. VANGESTEL counts all 366 rows and does not say how it fills "
        'them; missing="keep" leaves NaN for an imputer that is fitted to the training part, '
        'missing="drop" leaves the 358 complete rows.',
        citation=f"Ilter, N. and Guvenir, H. A. (1998), Dermatology, {UCI}",
        openml=35,
        content="aad586c6d24ef5208a9e60363dd346053d6ef1d0321a8ce10309b4135ff0166c",
        checksum="e9fc90e541dceddfb640b952c45da653402620e3766093e0af2acc2f52b27696",
    ),
    _entry(
        "digits",
        [f"pixel_{row}_{column}" for row in range(8) for column in range(8)],
        dict(zip("0123456789", [178, 182, 177, 183, 181, 182, 181, 179, 174, 180], strict=True)),
        title="Optical Recognition of Handwritten Digits, the test part",
        papers="none; a set of handwritten digits that is always at hand",
        notes="Three inputs are constant (the corners are always empty).",
        citation=f"Alpaydin, E. and Kaynak, C. (1998), Optical Recognition of Handwritten Digits, "
        f"{UCI}",
        scikit_learn=True,
        content="80a404ddfb6b20b81eba20b28e8896290de173934ff78d82615a6f62de5f8c47",
        checksum="606d4246b0accaf215e37ac5ca4b39d8c770acc6dad55ab8e4fa5a030092d9bf",
    ),
    _entry(
        "dna",
        DNA_INPUTS,
        {"ei": 767, "ie": 765, "n": 1654},
        discrete=frozenset(DNA_INPUTS),
        title="Splice-junction Gene Sequences, in the coding of Statlog",
        papers="DUAN03 and DUAN05 (DNA)",
        notes="60 bases of 3 bits each; the papers leave the bits as they are.",
        citation=f"Towell, G., Noordewier, M. and Shavlik, J. (1992), Molecular Biology "
        f"(Splice-junction Gene Sequences), {UCI}; Michie, Spiegelhalter and Taylor (1994), "
        "Machine Learning, Neural and Statistical Classification",
        openml=40670,
        content="f0d6e85f0d98eed888c75cbdb662abcff8a1029018e2ef6d88d9bad1cf81ac84",
        checksum="7bd45678f63ee6667957f1bbe03979f77ab9f36fca51013bea82d752b3fa9537",
    ),
    _entry(
        "glass",
        _words("RI Na Mg Al Si K Ca Ba Fe"),
        {"1": 70, "2": 76, "3": 17, "5": 13, "6": 9, "7": 29},
        title="Glass Identification",
        papers="VANGESTEL (gla)",
        notes="The types are numbered 1 to 7; there are no rows of type 4.",
        citation=f"German, B. (1987), Glass Identification, {UCI}",
        openml=41,
        content="5221635bbd6f66dc79af90fae0dcf4022e49c5cba3ed8ddfebc3224295563816",
        checksum="d22b076cc12cc6c11bc87440e978408b2531c8d3c56b95aa82d3ce3343efee8a",
    ),
    _entry(
        "iris",
        ["sepal_length", "sepal_width", "petal_length", "petal_width"],
        {"Iris-setosa": 50, "Iris-versicolor": 50, "Iris-virginica": 50},
        title="Iris",
        papers="VANGESTEL (iri)",
        citation=f"Fisher, R. A. (1936), Iris, {UCI}",
        scikit_learn=True,
        openml=61,
        differs={
            "scikit-learn": "rows 35 and 38 follow Fisher's table, where the UCI file of the "
            "papers has typing errors"
        },
        content="9fa362e0560c124eeda86ef323ac01bec83f195db4262d5cf63cb3e64790796a",
        checksum="2c3fc3e7a77ca0ce32d821206960dbb13b7f4a47c2120d6abb1485a3b0db8e7b",
    ),
    _entry(
        "led",
        LED_INPUTS,
        dict(zip("0123456789", [57, 55, 57, 81, 58, 60, 53, 55, 64, 60], strict=True)),
        discrete=frozenset(LED_INPUTS),
        title="LED Display Domain, 7 segments, 10 % noise",
        papers="VANGESTEL (led)",
        notes="The paper drew 600 rows of its own, which are not known; these are 600 rows of the "
        "same law, drawn with seed 0.",
        citation="Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees",
        licence="generated here",
        generated=True,
        openml=40496,
        differs={"openml": "500 rows of another draw"},
        content="0f08417364950ca05ca8688bcea07387555441c7cc53d4f5905cc124a70badde",
        checksum="2e59717f5607ba05a2fcdc5d4ce3ff24cb01d6674cffc107318946ffc3f02c26",
    ),
    _entry(
        "letter",
        LETTER_INPUTS,
        LETTER_CLASSES,
        title="Letter Recognition",
        papers="the source of abe",
        notes="In the UCI order, the first 16000 rows are the usual training part.",
        citation=LETTER_CITATION,
        openml=6,
        content="5ba77253e29030b18998682bf7475d731fe47243421af5e3efdb7576027c5ad7",
        checksum="71b6a91ceffc7b0469ddd9eda210bf00ebfde69c642e937ca1bd5df26d932d6d",
    ),
    _entry(
        "new-thyroid",
        ["t3_resin", "thyroxin", "triiodothyronine", "tsh_basal", "tsh_max_diff"],
        {"1": 150, "2": 35, "3": 30},
        title="Thyroid Disease, new-thyroid",
        papers="VANGESTEL (nth)",
        citation=f"Quinlan, R. (1987), Thyroid Disease, {UCI}; the new-thyroid part: donated by "
        "Aeberhard, S. (1992)",
        openml=40682,
        content="3849ddc2a6bb74af751d9d3b7c4dba65f84841217ba98215e2f75d5f9ac27a20",
        checksum="f61e6be8680a12d32c7b49974f43725ba23bc8e3d8afaeaf2ab4c7ceedbec328",
    ),
    _entry(
        "satimage",
        [f"x{number}" for number in range(1, 37)],
        {"1": 1533, "2": 703, "3": 1358, "4": 626, "5": 707, "7": 1508},
        title="Statlog (Landsat Satellite)",
        papers="DUAN03 and DUAN05 (SAT)",
        notes="There is no class 6. The first 4435 rows are sat.trn, the rest sat.tst.",
        citation=f"Srinivasan, A. (1993), Statlog (Landsat Satellite), {UCI}",
        openml=182,
        differs={"openml": "6430 rows, 5 fewer"},
        content="4a5069040cf0c9d751cd5e54bfc8640f99140e5c3d9c58d35428b038b0b3e9ea",
        checksum="694cf154f7872860a905de4e492fb90c4dd97d2aa192cd82ee637a527588a5ed",
    ),
    _entry(
        "segment",
        SEGMENT_INPUTS,
        dict.fromkeys(_words("brickface sky foliage cement window path grass"), 330),
        title="Statlog (Image Segmentation)",
        papers="DUAN03 and DUAN05 (SEG)",
        notes="19 inputs as in DUAN03, of which region_pixel_count is constant; "
        "drop_constant=True gives the 18 others.",
        citation=f"Vision Group, University of Massachusetts (1990), Image Segmentation, {UCI}",
        openml=40984,
        content="44650e0ae146b4fd2ef57697ccb52fc68673977103a07186cc9f8ffa14603c46",
        checksum="e4fd5d32f64e3a5931765e75a8dca974e163880e9fb802529948038539bf2c93",
    ),
    _entry(
        "soybean-small",
        SOYBEAN_INPUTS,
        {"D1": 10, "D2": 10, "D3": 10, "D4": 17},
        discrete=frozenset(SOYBEAN_INPUTS),
        title="Soybean (Small)",
        papers="VANGESTEL (ssd)",
        notes="21 of the 35 inputs of the UCI file, as in the paper; the 14 others are constant.",
        citation=f"Michalski, R. S. and Chilausky, R. L. (1980), Soybean (Small), {UCI}",
        content="39a6fbff66d2a249297fb0eb964b62c9f8617e679c751bd08e1e3713b66c4be1",
        checksum="6565cac2f0ab132d3f9059e1f56ba97641840af07b4e00e186603cb1802f7b14",
    ),
    _entry(
        "usps",
        [f"p{number}" for number in range(1, 257)],
        dict(zip("0123456789", [1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821], strict=True)),
        title="US Postal Service handwritten digits, zip.train and zip.test",
        papers="VANGESTEL (USPS)",
        notes="16 x 16 grey values in [-1, 1]; split says which 7291 rows are for training and "
        "which 2007 for testing.",
        citation="Hull, J. J. (1994), A database for handwritten text recognition research, IEEE "
        "PAMI 16; Hastie, Tibshirani and Friedman, The Elements of Statistical Learning",
        licence="none stated; passed on freely for research",
        openml=41082,
        differs={"openml": "the smoothed images of LIBSVM, without the split"},
        content="997be33860fbae4e2922c81de430e9a74451882cb1602a87372d96fcdf7b6d36",
        checksum="70dadc9a82c301250f9c2111f68ef946a32f6e8569345efbac98cd82832bc6fb",
    ),
    _entry(
        "vehicle",
        VEHICLE_INPUTS,
        {"opel": 212, "saab": 217, "bus": 218, "van": 199},
        title="Statlog (Vehicle Silhouettes)",
        papers="VANGESTEL (veh)",
        citation=f"Mowforth, P. and Shepherd, B. (1987), Statlog (Vehicle Silhouettes), {UCI}; "
        "from the Turing Institute, Glasgow",
        openml=54,
        content="04d047617c5c898818c9d8afc991ee6fb796699074f0197ac48bea3063546fd0",
        checksum="93f6c4ad001f96f7268bec39f04db76ca74b51e5db790564c56c71d6220fcd4e",
    ),
    _entry(
        "waveform",
        [f"x{number}" for number in range(1, 22)],
        {"0": 1657, "1": 1647, "2": 1696},
        title="Waveform Database Generator (Version 1)",
        papers="DUAN03 and DUAN05 (WAV)",
        citation="Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees; "
        f"Waveform Database Generator (Version 1), {UCI}",
        generated=True,
        openml=60,
        differs={
            "generated": "a fresh sample of the same law",
            "openml": "another sample, with 19 more inputs of noise",
        },
        content="f230d1c6abb6c7456b49b770ebe236433b19cc683ad8da1ea2544f4f2c005894",
        checksum="03f3cc160411f077653c781e0bbdf08d693274dba0e2a7278b57dba95b77ff87",
    ),
    _entry(
        "wine",
        WINE_INPUTS,
        {"1": 59, "2": 71, "3": 48},
        title="Wine",
        papers="VANGESTEL (win)",
        citation=f"Aeberhard, S. and Forina, M. (1992), Wine, {UCI}",
        scikit_learn=True,
        openml=187,
        content="3ba7017e1adf89b30f3ca055a55df6b3dc303440be520e0608c42870e3c350aa",
        checksum="19108b76c6a8c3e6c1018c09b19d3b232516f7a727842b00a448cdddc195c3fe",
    ),
    _entry(
        "zoo",
        ZOO_INPUTS,
        {
            "mammal": 41,
            "bird": 20,
            "reptile": 5,
            "fish": 13,
            "amphibian": 4,
            "insect": 8,
            "mollusc.et.al": 10,
        },
        discrete=frozenset(ZOO_INPUTS) - {"legs"},
        title="Zoo",
        papers="VANGESTEL (zoo)",
        notes="The animals' names are not used. legs is a number (0, 2, 4, 5, 6 or 8), as the "
        "paper's 16 inputs imply; the others are 0 or 1.",
        citation=f"Forsyth, R. (1990), Zoo, {UCI}",
        openml=62,
        content="aa753cee859fe64af623b85af9336e053b20d3cdafa211d6e636581cb7c5abac",
        checksum="ce0bf00779f2378ed51a38283950dbd9a82c48a467398c9c46bfbe76b74f5fe7",
    ),
]

TABLE: dict[str, Facts] = {entry.name: entry for entry in ENTRIES}
